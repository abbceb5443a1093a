import time
from tests.hostile.support import READING, TALKING, write_note
from tests.hostile.conftest import *
from tests.hostile.test_poison import POISONS


def test_t(clone, theirs):
    write_note(theirs, POISONS["huge lines"]())
    v = clone()
    for a in (*READING, *TALKING, ("init",), *READING):
        t = time.time()
        v.run(*a)
        d = time.time() - t
        if d > 0.3:
            print(a, round(d, 2))
