import { Fault } from '@millrace/platform/fault';
import { unsupportedEncodingFault } from '@millrace/platform/http/body-encoding';
import type { BodyReservation } from '@millrace/platform/http/body-budget';
import { readBody } from '@millrace/platform/http/read-body';
import type { IncomingMessage } from 'node:http';
import { hasMoreValuesThan } from '../../wire/count-json-values.ts';
import type { GatewayLimits } from './gateway-limits.ts';

export interface ReadJsonOptions {
  readonly limits: Pick<GatewayLimits, 'bodyBytes' | 'bodyValues'>;
  readonly share: BodyReservation;
  done(body: unknown): void;
  fail(error: unknown): void;
}

export function readJson(request: IncomingMessage, { limits, share, done, fail }: ReadJsonOptions): void {
  const unreadable = unsupportedEncodingFault(request.headers);
  if (unreadable !== null) {
    share.release();
    fail(unreadable);
    return;
  }
  readBody(request, {
    announced: Number(request.headers['content-length'] ?? 0),
    maxBytes: limits.bodyBytes,
    share,
    parse: (bytes) => parse(bytes, limits.bodyValues),
    done,
    fail,
  });
}

function parse(bytes: Buffer, mostValues: number): unknown {
  // A value takes at least a byte and a comma, so most bodies are too short for the check.
  if (bytes.length > 2 * mostValues && hasMoreValuesThan(mostValues, bytes)) {
    const message = `contains more than ${mostValues} values`;
    throw new Fault('VALIDATION_FAILED', {
      issues: [{ path: [], message, code: 'too_big', location: 'body' }],
    });
  }
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new Fault('MALFORMED_JSON', { cause: error });
  }
}
