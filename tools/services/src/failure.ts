/** An error for the user: what happened and why, what to do, and optionally the end of a log. */
export class Failure extends Error {
  readonly remedy: string;
  readonly logTail: string;

  constructor(message: string, remedy: string, logTail = '') {
    super(message);
    this.name = 'Failure';
    this.remedy = remedy;
    this.logTail = logTail;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
