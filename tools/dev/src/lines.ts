/** Turns the JSON lines of a process into lines for people. Whatever is not such a line is shown as it is. */
export function readable(line: string): string {
  const entry = parse(line);
  if (entry === null) return line;
  const { level, msg, time, name: _name, pid: _pid, ...rest } = entry;
  const at = typeof time === 'string' ? time.slice(11, 23) : '';
  const fields = Object.entries(rest).map(([field, value]) => `${field}=${shown(value)}`);
  return [at, String(level).padEnd(5), String(msg), ...fields].join(' ');
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

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

/** Cuts a stream of text into whole lines; the last one is held back until its end arrives. */
export function lineCutter(onLine: (line: string) => void): { push(text: string): void; end(): void } {
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
