/** Names of the common statuses (RFC 8881, section 15). */
const names: Readonly<Record<number, string>> = {
  1: 'PERM',
  2: 'NOENT',
  5: 'IO',
  13: 'ACCESS',
  17: 'EXIST',
  20: 'NOTDIR',
  21: 'ISDIR',
  22: 'INVAL',
  27: 'FBIG',
  28: 'NOSPC',
  30: 'ROFS',
  66: 'NOTEMPTY',
  69: 'DQUOT',
  70: 'STALE',
  10_001: 'BADHANDLE',
  10_004: 'NOTSUPP',
  10_006: 'SERVERFAULT',
  10_008: 'DELAY',
  10_011: 'EXPIRED',
  10_013: 'GRACE',
  10_014: 'FHEXPIRED',
  10_016: 'WRONGSEC',
  10_018: 'RESOURCE',
  10_020: 'NOFILEHANDLE',
  10_021: 'MINOR_VERS_MISMATCH',
  10_022: 'STALE_CLIENTID',
  10_023: 'STALE_STATEID',
  10_024: 'OLD_STATEID',
  10_025: 'BAD_STATEID',
  10_033: 'NO_GRACE',
  10_036: 'BADXDR',
  10_038: 'OPENMODE',
  10_052: 'BADSESSION',
  10_054: 'COMPLETE_ALREADY',
  10_063: 'SEQ_MISORDERED',
  10_071: 'OP_NOT_IN_SESSION',
};

/** The server responded with an error status. */
export class NfsError extends Error {
  override readonly name = 'NfsError';
  readonly status: number;
  /** For example `NOENT`, `ACCESS`, `NOSPC`. */
  readonly code: string;

  constructor(status: number, operation: string) {
    const code = names[status] ?? String(status);
    super(`${operation} failed with NFS4ERR_${code}.`);
    this.status = status;
    this.code = code;
  }
}

export function isNfsError(error: unknown, ...codes: readonly string[]): error is NfsError {
  return error instanceof NfsError && (codes.length === 0 || codes.includes(error.code));
}
