import type { EngineFailure } from '../text/text-adapter.ts';
import { invalidMediaResponse, MediaEngineError, type MediaResponse } from './media-adapter.ts';

/** Maps engine errors. Their messages reach clients only for invalid requests, and no log, because they can quote the prompt. */

const maxMessageLength = 300;

export function toMediaFailure({ status, body }: Pick<MediaResponse, 'status' | 'body'>): EngineFailure {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return {
        status,
        reason: 'VALIDATION_FAILED',
        message: messageIn(body) ?? 'The engine does not accept these values.',
        retryable: false,
      };
    case 408:
    case 504:
      return { status, reason: 'UPSTREAM_TIMEOUT', message: 'The engine took too long.', retryable: true };
    case 429:
    case 503:
      return { status, reason: 'MODEL_OVERLOADED', message: 'The engine is busy.', retryable: true };
    default:
      return { status, reason: 'UPSTREAM_ERROR', message: 'The engine failed.', retryable: true };
  }
}

export function requireSuccess(response: MediaResponse): MediaResponse {
  if (response.status >= 200 && response.status < 300) return response;
  throw new MediaEngineError(toMediaFailure(response));
}

export function requireJson(response: MediaResponse): Readonly<Record<string, unknown>> {
  const value = parseJsonBody(requireSuccess(response).body);
  if (!isRecord(value)) throw invalidMediaResponse('The engine did not return a JSON object.');
  return value;
}

export function parseJsonBody(body: Buffer | string): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The error shapes of engines: `{error: {message}}`, `{error}`, `{detail}` and `{detail: [{loc, msg}]}`. */
function messageIn(body: Buffer): string | null {
  const value = parseJsonBody(body);
  if (!isRecord(value)) return null;
  const { error, detail, message } = value;
  const found = [isRecord(error) ? error['message'] : error, fromDetail(detail), message].find(
    (text) => typeof text === 'string' && text !== '',
  );
  return typeof found === 'string' ? toPlainText(found) : null;
}

function fromDetail(detail: unknown): unknown {
  if (!Array.isArray(detail)) return detail;
  const [first] = detail as readonly unknown[];
  if (!isRecord(first) || typeof first['msg'] !== 'string') return undefined;
  const where = Array.isArray(first['loc']) ? first['loc'].slice(1).map(String).join('.') : '';
  return where === '' ? first['msg'] : `${where}: ${first['msg']}`;
}

function toPlainText(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f]+/g, ' ').slice(0, maxMessageLength);
}

export function bearerHeaders(apiKey: string | null): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey}` };
}

export const jsonHeaders = { 'content-type': 'application/json', accept: 'application/json' } as const;
