/** The code of a system error, such as ENOENT, or the name of another error. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

export function hasErrorCode(error: unknown, code: string): error is Error {
  return error instanceof Error && errorCode(error) === code;
}
