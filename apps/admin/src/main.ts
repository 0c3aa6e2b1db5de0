import { createInterface } from 'node:readline/promises';
import { runAdmin } from './app.ts';

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  ...(process.stdin.isTTY && process.stderr.isTTY ? { prompt: readLine } : {}),
});

/** Shows questions on stderr, so that the output of a command can go to a file. Ctrl-C and Ctrl-D end the command. */
async function readLine(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const closed = new AbortController();
  terminal.on('close', () => closed.abort(new Error('the input ended')));
  try {
    return await terminal.question(question, { signal: closed.signal });
  } finally {
    terminal.close();
  }
}
