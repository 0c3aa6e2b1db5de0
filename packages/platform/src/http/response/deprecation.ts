import { Fault } from '../../fault/index.ts';
import { msToSecondsRoundDown } from '../../money/index.ts';

/** When an operation is on its way out. */
export interface DeprecationNotice {
  /** From when it has been deprecated. */
  readonly deprecatedAt: string;
  /** After this instant it answers 410. */
  readonly sunsetAt?: string;
  /** The path that replaces it. */
  readonly successor: string;
}

/** `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and where to go instead. */
export function deprecationHeaders(notice: DeprecationNotice): Record<string, string> {
  const headers: Record<string, string> = {
    deprecation: `@${msToSecondsRoundDown(Date.parse(notice.deprecatedAt))}`,
    link: `<${notice.successor}>; rel="successor-version"`,
  };
  if (notice.sunsetAt !== undefined) headers['sunset'] = new Date(notice.sunsetAt).toUTCString();
  return headers;
}

/** After its sunset an operation answers 410 with its successor, so nobody takes it for a typing error. */
export function sunsetFault(notice: DeprecationNotice, nowMs: number): Fault | null {
  if (notice.sunsetAt === undefined || nowMs < Date.parse(notice.sunsetAt)) return null;
  return new Fault('GONE', {
    message: `This operation was retired on ${notice.sunsetAt.slice(0, 10)}.`,
    suggestion: `Use ${notice.successor}.`,
    extra: { successor: notice.successor },
  });
}
