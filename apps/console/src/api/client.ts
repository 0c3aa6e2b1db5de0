import { Millrace } from '@millrace/sdk';

export type Mode = 'live' | 'test';

/** Whom a tab acts for. */
export interface OrgContext {
  readonly organisationId: string;
  readonly mode: Mode;
}

const baseUrl = globalThis.location.origin;

/** Proof, for browsers without fetch metadata, that a page of this installation sent the request. */
export const consoleHeaders = { 'millrace-console': '1' };

/** Before anybody has signed in, and for what concerns the person alone. */
export const anonymousClient = new Millrace({ baseUrl, session: {}, headers: consoleHeaders });

/** A client for one organisation and mode. The session is in a cookie that no script can read. */
export function clientFor({ organisationId, mode }: OrgContext): Millrace {
  return new Millrace({ baseUrl, session: { organisation: organisationId, mode }, headers: consoleHeaders });
}
