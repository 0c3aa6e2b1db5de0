/** Formats a JSON log line for the terminal. Other lines are returned unchanged. */
export function formatLogLine(line: string): string {
  const entry = parse(line);
  if (entry === null) return line;
  const { level, msg, time, name: _name, pid: _pid, err, ...rest } = entry;
  const at = typeof time === 'string' ? time.slice(11, 23) : '';
  const words = msg === 'request' ? requestText(rest) : [String(msg), ...fieldsOf(rest)];
  return [at, String(level).padEnd(5), ...words].join(' ') + failureLines(err);
}

/** Requests are the most frequent lines: outcome and operation come first, the id last, and caller details are left out. */
function requestText(entry: Readonly<Record<string, unknown>>): string[] {
  const { method, operation, url, status, tookMs, reason, requestId, ...rest } = entry;
  const { clientIp: _clientIp, orgId: _orgId, keyId: _keyId, ...others } = rest;
  const what = operation === 'none' ? url : operation;
  const why = reason === undefined ? [] : [valueText(reason)];
  const texts = [status, ...why, method, what].map(valueText);
  return [...texts, `${valueText(tookMs)} ms`, ...fieldsOf(others), valueText(requestId)];
}

function fieldsOf(entry: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(entry).map(([field, value]) => `${field}=${valueText(value)}`);
}

/** A stack is only readable over several lines. */
function failureLines(err: unknown): string {
  if (err === undefined) return '';
  const stack = typeof err === 'object' && err !== null && 'stack' in err ? err.stack : err;
  return `\n${valueText(stack)}`.replaceAll('\n', '\n    ');
}

function parse(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    const entry: unknown = JSON.parse(line);
    return typeof entry === 'object' && entry !== null && 'level' in entry && 'msg' in entry
      ? { ...entry }
      : null;
  } catch {
    return null;
  }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Splits a stream of text into lines; an incomplete last line is buffered. */
export function createLineSplitter(onLine: (line: string) => void): {
  push(text: string): void;
  end(): void;
} {
  let held = '';
  return {
    push: (text) => {
      const lines = (held + text).split('\n');
      held = lines.pop() ?? '';
      lines.forEach(onLine);
    },
    end: () => {
      if (held !== '') onLine(held);
      held = '';
    },
  };
}
