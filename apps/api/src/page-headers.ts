import { createHash } from 'node:crypto';

/** Headers of a page without scripts and forms. Its own style element is the only content that the browser may use. */
export function pageHeaders(style: string): Readonly<Record<string, string>> {
  const digest = createHash('sha256').update(style).digest('base64');
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'x-frame-options': 'DENY',
  };
}
