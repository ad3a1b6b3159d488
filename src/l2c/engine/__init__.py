"""Learning to Counter, stage by stage, in the order of the paper's section 3.

::

    discretise   numbers → levels                                     section 5.3
    encode       levels → z, the input of the networks                section 3.1
    networks     z → G(z), S(z)                                       equation 2
    constrain    G(z) → p, with unary constraints inside              equation 5
    sample       p, π → hard levels                                   z̃ = (1 − s) z + s z̃
    decode       levels → values                                      equation 4
    relax        p, π → soft levels, for training                     section 3.4
    objective    soft levels → loss                                   equation 3
    learn        loss → trained networks      (needs torch)
    reference    training rows of a class → what its people are like, as a tree of tables
    conditional  changed features drawn to fit the kept ones, under that law
    dial         how much the law weighs
    propose      networks and law → candidates, in batches

What goes past the paper stands beside them: what is foreseen of a model (`foresight`, `learn_foresight`) and the laws
that are tilted by it (`tilt`); how models without a gradient are asked and learned from (`ask`, `distil`, `score`); how
like people candidates are (`likeness`, `likely`). Only `learn`, `learn_foresight` and `propose` know the order.
"""
