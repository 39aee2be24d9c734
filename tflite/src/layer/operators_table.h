/* Written by keras_duspar/operators.py, which is the place for changes. Only
 * operators.c includes this. Widths: N features, M units. */
/* clang-format off */
static const duspar_op duspar_ops[] = {
  [DUSPAR_KIND_SPAR] = {"SpaR", DUSPAR_KIND_SPAR,
    1, {
      {"f", 'M'},
    },
    3, {
      {"gate_kernel", DUSPAR_GATE_KERNEL, 0, "NM"},
      {"candidate_kernel", DUSPAR_CANDIDATE_KERNEL, 0, "NM"},
      {"gate_bias", DUSPAR_GATE_BIAS, 0, "M"},
    },
    1, {
      {"x", 'N', 'M'},
    },
  },
  [DUSPAR_KIND_DUSPAR] = {"DuSpaR", DUSPAR_KIND_DUSPAR,
    2, {
      {"f", 'M'},
      {"g", 'N'},
    },
    8, {
      {"feedforward.gate_kernel", DUSPAR_GATE_KERNEL, 0, "NM"},
      {"feedforward.candidate_kernel", DUSPAR_CANDIDATE_KERNEL, 0, "NM"},
      {"feedback.gate_kernel", DUSPAR_GATE_KERNEL, 1, "MN"},
      {"feedback.candidate_kernel", DUSPAR_CANDIDATE_KERNEL, 1, "MN"},
      {"feedforward.gate_bias", DUSPAR_GATE_BIAS, 0, "M"},
      {"feedback.gate_bias", DUSPAR_GATE_BIAS, 1, "N"},
      {"feedforward_bias", DUSPAR_OFFSET, 0, "M"},
      {"feedback_bias", DUSPAR_OFFSET, 1, "N"},
    },
    2, {
      {"e", 'N', 'M'},
      {"y", 'M', 'N'},
    },
  },
};
