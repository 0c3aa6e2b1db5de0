import { randomUUID } from 'node:crypto';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually, startCommand } from '@millrace/testing';

/** A real terminal with a shell, run by tmux, so that tests see the screen after every redraw and press real keys. */
export interface Terminal {
  type(text: string): Promise<void>;
  /** Presses a key by its tmux name: `Enter`, `C-c`. */
  press(key: string): Promise<void>;
  enter(line: string): Promise<void>;
  /** The text on the screen, without trailing empty lines. */
  screen(): Promise<string>;
  /** Waits until the screen shows this, and returns the screen. */
  shows(what: string | RegExp, timeoutMs?: number): Promise<string>;
  /** Runs a command to its end and returns the screen and the exit code. */
  run(line: string, timeoutMs?: number): Promise<{ readonly screen: string; readonly exitCode: number }>;
  clear(): Promise<void>;
  /** All screens that `shows` returned. */
  seen(): string;
  close(): Promise<void>;
}

const call = promisify(execFile);
const [columns, rows] = [110, 40];

export async function openTerminal(options: {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}): Promise<Terminal> {
  const socket = `millrace-${randomUUID()}`;
  const env = { ...options.env, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' };
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await call('tmux', ['-L', socket, ...args], { env, cwd: options.folder })).stdout;
  // In the foreground, so that tmux, the shell and its commands end with the test.
  const server = await startCommand({
    ...{ name: 'tmux', file: 'tmux', args: ['-u', '-D', '-L', socket, '-f', '/dev/null'] },
    ...{ env, folder: options.folder },
  });
  await eventually({ what: 'tmux' }, async () => {
    const size = ['-x', String(columns), '-y', String(rows)];
    await tmux('new-session', '-d', ...size, '-c', options.folder, 'exec bash --norc --noprofile');
    return true;
  });
  const terminal = terminalOf(tmux, async () => {
    await tmux('kill-server').catch(() => '');
    await server.crash();
  });
  await terminal.enter("PS1='here> '");
  await terminal.shows(/^here>$/m);
  await terminal.clear();
  return terminal;
}

function terminalOf(
  tmux: (...args: readonly string[]) => Promise<string>,
  close: () => Promise<void>,
): Terminal {
  let runs = 0;
  let seen = '';
  const screen = async (): Promise<string> => (await tmux('capture-pane', '-p')).trimEnd();
  const type = async (text: string): Promise<void> => void (await tmux('send-keys', '-l', '--', text));
  const press = async (key: string): Promise<void> => void (await tmux('send-keys', key));
  const enter = async (line: string): Promise<void> => {
    await type(line);
    await press('Enter');
  };
  const shows: Terminal['shows'] = async (what, timeoutMs = 15_000) => {
    let last = '';
    try {
      await eventually({ what: String(what), timeoutMs, intervalMs: 50 }, async () => {
        last = await screen();
        return typeof what === 'string' ? last.includes(what) : what.test(last);
      });
      seen += `${last}\n`;
      return last;
    } catch (error) {
      throw new Error(`The screen did not show ${String(what)}. It shows:\n${last}`, { cause: error });
    }
  };
  const clear = async (): Promise<void> => {
    await enter('clear');
    await eventually({ what: 'an empty screen' }, async () => /^here>$/.test(await screen()));
  };
  return {
    type,
    press,
    enter,
    screen,
    shows,
    clear,
    close,
    run: async (line, timeoutMs) => {
      runs += 1;
      await clear();
      await enter(`${line}; echo "run ${runs} ended with $?"`);
      const ended = new RegExp(`^run ${runs} ended with (\\d+)$`, 'm');
      const shown = await shows(ended, timeoutMs);
      return { screen: shown, exitCode: Number(ended.exec(shown)?.[1]) };
    },
    seen: () => seen,
  };
}
