"""HMSDK's programs: bwactl, bwprof, gen_migpol, hmctl."""
