import { Fault } from '../../fault/index.ts';
import { msToSecondsRoundDown } from '../../money/index.ts';

/** The deprecation of an operation. */
export interface DeprecationNotice {
  readonly deprecatedAt: string;
  /** After this instant the operation responds 410. */
  readonly sunsetAt?: string;
  readonly successor: string;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to the successor. */
export function deprecationHeaders(notice: DeprecationNotice): Record<string, string> {
  const headers: Record<string, string> = {
    deprecation: `@${msToSecondsRoundDown(Date.parse(notice.deprecatedAt))}`,
    link: `<${notice.successor}>; rel="successor-version"`,
  };
  if (notice.sunsetAt !== undefined) headers['sunset'] = new Date(notice.sunsetAt).toUTCString();
  return headers;
}

/** After its sunset an operation responds 410 with its successor, so that callers do not suspect a wrong path. */
export function sunsetFault(notice: DeprecationNotice, nowMs: number): Fault | null {
  if (notice.sunsetAt === undefined || nowMs < Date.parse(notice.sunsetAt)) return null;
  return new Fault('GONE', {
    message: `This operation was removed on ${notice.sunsetAt.slice(0, 10)}.`,
    suggestion: `Use ${notice.successor}.`,
    extra: { successor: notice.successor },
  });
}
