import { Fault } from '@millrace/platform/fault';
import { ForbiddenAddressError, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';

/**
 * Refuses at once what could never be delivered to. It is a courtesy, not the guard: what a name stands for is judged
 * in the moment of connecting, each time.
 */
export function requireDeliverableUrl(guard: NetGuard, text: string): void {
  const problem = urlProblem(guard, text);
  if (problem === null) return;
  throw new Fault('WEBHOOK_URL_REFUSED', {
    message: `The webhook URL is refused: ${problem}.`,
    issues: [{ path: ['url'], code: 'url_refused', message: problem }],
  });
}

const LOOPBACK = '127.0.0.1';

function urlProblem(guard: NetGuard, text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) return 'it is no URL';
  if (url.protocol !== 'https:') return 'deliveries go over https only';
  if (url.username !== '' || url.password !== '') {
    return 'a name and password in it would be kept and shown; verify signatures instead';
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

/** What of a URL may stand in an audit log: people put tokens into paths and queries. */
export function originOf(text: string): string {
  return URL.canParse(text) ? new URL(text).origin : '';
}
