import type { Issue, ErrorDetails } from './errors.ts';

/** Parses error responses: the three bodies of the service, and any body of a proxy, without throwing. */

export interface RawErrorResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The base of a relative `docUrl`. */
  readonly baseUrl: string;
}

type Fields = Readonly<Record<string, unknown>>;

export function parseErrorResponse({ status, headers, text, baseUrl }: RawErrorResponse): ErrorDetails {
  const body = parsed(text);
  const fields = isFields(body) ? body : {};
  const inner = isFields(fields['error']) ? fields['error'] : {};
  const reason = stringOr(fields['reason']) ?? stringOr(inner['code'])?.toUpperCase() ?? null;
  const message = stringOr(fields['message']) ?? stringOr(inner['message']) ?? defaultMessage(status, text);
  const docUrl = stringOr(fields['docUrl']);
  return {
    status,
    headers,
    message,
    reason,
    suggestion: stringOr(fields['suggestion']) ?? stringOr(inner['suggestion']),
    requestId: stringOr(fields['requestId']) ?? stringOr(fields['request_id']) ?? requestIdOf(headers),
    docUrl: docUrl === null ? null : absolute(docUrl, baseUrl),
    issues: issuesOf(fields),
    body,
  };
}

export function requestIdOf(headers: Headers): string | null {
  return headers.get('x-request-id') ?? headers.get('x-inference-request-id');
}

function issuesOf(fields: Fields): readonly Issue[] {
  const { issues, detail } = fields;
  if (Array.isArray(issues)) return issues.filter(isIssue);
  if (!Array.isArray(detail)) return [];
  return detail.filter(isFields).map(({ loc, msg, type }) => ({
    message: stringOr(msg) ?? '',
    ...(Array.isArray(loc) ? { path: loc.filter(isStep) } : {}),
    ...(typeof type === 'string' ? { code: type } : {}),
  }));
}

function isIssue(value: unknown): value is Issue {
  return isFields(value) && typeof value['message'] === 'string';
}

function isStep(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function stringOr(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function defaultMessage(status: number, text: string): string {
  const line = text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '';
  return line === '' || line.startsWith('<')
    ? `The response had status ${status} and no message.`
    : `The response had status ${status}: ${line}`;
}

function absolute(url: string, baseUrl: string): string {
  return URL.canParse(url, baseUrl) ? new URL(url, baseUrl).href : url;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
