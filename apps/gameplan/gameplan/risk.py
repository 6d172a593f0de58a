def arguments(p): pass
def run(a): return 2
