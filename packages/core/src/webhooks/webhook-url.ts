import { Fault } from '@millrace/platform/fault';
import { ForbiddenAddressError, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';

/** Early feedback on URLs that can never work. The guard also checks the resolved address at each connection. */
export function requireDeliverableUrl(guard: NetGuard, text: string): void {
  const problem = urlProblem(guard, text);
  if (problem === null) return;
  throw new Fault('WEBHOOK_URL_REFUSED', {
    message: `The webhook URL was refused: ${problem}.`,
    issues: [{ path: ['url'], code: 'url_refused', message: problem }],
  });
}

const LOOPBACK = '127.0.0.1';

function urlProblem(guard: NetGuard, text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return 'it is not a valid URL';
  if (url.protocol !== 'https:') return 'it must use https';
  if (url.username !== '' || url.password !== '') {
    return 'it must not contain a user name or password, because the URL is stored and shown; verify signatures instead';
  }
  const isLocalName = /(^|\.)localhost\.?$/.test(url.hostname);
  try {
    assertAddressAllowed(guard, isLocalName ? LOOPBACK : url.hostname);
  } catch (error) {
    if (error instanceof ForbiddenAddressError) return 'its address is not on the public internet';
    throw error;
  }
  return null;
}

/** The part of a URL that audit logs may contain: paths and queries can contain tokens. */
export function originOf(text: string): string {
  return URL.canParse(text) ? new URL(text).origin : '';
}
