<?php
// WordPress's own class for MariaDB. It notes what an answer has to tell: the number of the first error, which WordPress keeps
// in words only, and how many connections were opened.

class Contend_Wpdb extends wpdb
{
    public function print_error($str = '')
    {
        $GLOBALS['contend_errno'] ??= $this->dbh instanceof mysqli ? mysqli_errno($this->dbh) : 0;
        return parent::print_error($str);
    }

    public function db_connect($allow_bail = true)
    {
        $is_open = parent::db_connect($allow_bail);
        $GLOBALS['contend_connections'] = ($GLOBALS['contend_connections'] ?? 0) + (int) $is_open;
        return $is_open;
    }
}
