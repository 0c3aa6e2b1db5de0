/** What the process ends with. Scripts decide by these, so a number never changes its meaning. */
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
  { code: exitCodes.ok, meaning: 'It worked.' },
  { code: exitCodes.failure, meaning: 'It failed. The error says why, and what to do about it.' },
  { code: exitCodes.cancelled, meaning: 'You cancelled it: Ctrl-C, or "no" to a question.' },
  {
    code: exitCodes.usage,
    meaning: 'The command line makes no sense: a flag, an argument, or a needed answer.',
  },
  { code: exitCodes.auth, meaning: 'Not logged in, or the key may not do this.' },
  { code: exitCodes.notFound, meaning: 'The thing does not exist, or is not yours to see.' },
  { code: exitCodes.insufficientFunds, meaning: 'The balance, a budget or a limit does not allow it.' },
  { code: exitCodes.noCapacity, meaning: 'Nothing that fits is free now.' },
];
