/** Turns the JSON lines of a process into lines for people. Whatever is not such a line is shown as it is. */
export function formatLogLine(line: string): string {
  const entry = parse(line);
  if (entry === null) return line;
  const { level, msg, time, name: _name, pid: _pid, err, ...rest } = entry;
  const at = typeof time === 'string' ? time.slice(11, 23) : '';
  const words = msg === 'request' ? requestText(rest) : [String(msg), ...fieldsOf(rest)];
  return [at, String(level).padEnd(5), ...words].join(' ') + failureLines(err);
}

/** A request is the commonest line by far: what it was and how it ended first, its id last, nothing else. */
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

/** An error has its own lines: a stack in one line is read by nobody. */
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

/** Cuts a stream of text into whole lines; the last one is held back until its end arrives. */
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
