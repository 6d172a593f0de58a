# Comments per second over the time that a program spends inside its transaction, with the published rate and that of the app
# of this repository: gnuplot -e "datafile='results/hold/hold/trials.csv'" docs/hold.gnuplot
set datafile separator ','
set terminal pngcairo size 1000,600
set output 'hold.png'
set xlabel 'time of the program inside the transaction, ms'
set ylabel 'comments per second, 16 clients, nothing lost'
set logscale y
set key top right
is_of(name) = strcol('engine') eq name && strcol('valid') eq 'true'
y(name) = is_of(name) ? column('throughput_ops_per_s') : NaN
plot for [name in 'sqlite mariadb postgres'] datafile using (column('axis_hold_ms')):(y(name)) with points pointtype 7 title name, \
     21 with lines dashtype 2 title 'SQLite, published (another app and machine)', \
     51 with lines dashtype 3 notitle, 57 with lines dashtype 3 title 'SQLite as published, the app here'
