import { Millrace } from '@millrace/sdk';

export type Mode = 'live' | 'test';

export interface OrgContext {
  readonly organisationId: string;
  readonly mode: Mode;
}

const baseUrl = globalThis.location.origin;

/** Shows, for browsers without fetch metadata, that a page of this installation sent the request. */
export const consoleHeaders = { 'millrace-console': '1' };

/** Client without an organisation, for the public catalog and the user's own account. */
export const anonymousClient = new Millrace({ baseUrl, session: {}, headers: consoleHeaders });

/** Client for one organisation and mode. The session is in a cookie that scripts cannot read. */
export function clientFor({ organisationId, mode }: OrgContext): Millrace {
  return new Millrace({ baseUrl, session: { organisation: organisationId, mode }, headers: consoleHeaders });
}
