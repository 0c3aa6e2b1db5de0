/** The exit codes of the process. Scripts depend on them, so a code never changes its meaning. */
export const exitCodes = {
  ok: 0,
  failure: 1,
  cancelled: 2,
  usage: 3,
  auth: 4,
  notFound: 5,
  insufficientFunds: 6,
  noCapacity: 7,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeMeanings: readonly { readonly code: ExitCode; readonly meaning: string }[] = [
  { code: exitCodes.ok, meaning: 'Success.' },
  { code: exitCodes.failure, meaning: 'The command failed. The error says why and what to do.' },
  { code: exitCodes.cancelled, meaning: 'You cancelled: Ctrl-C, or "no" to a question.' },
  {
    code: exitCodes.usage,
    meaning: 'Invalid arguments: a flag, an argument, or a missing answer.',
  },
  { code: exitCodes.auth, meaning: 'Not logged in, or the key does not allow this.' },
  { code: exitCodes.notFound, meaning: 'The resource does not exist, or you have no access to it.' },
  { code: exitCodes.insufficientFunds, meaning: 'The balance, a budget or a limit does not allow it.' },
  { code: exitCodes.noCapacity, meaning: 'No matching capacity is available now.' },
];
