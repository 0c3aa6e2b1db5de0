import { parseModes } from './args.ts';
import { commands } from './commands.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  const results = parseModes(process.argv.slice(2)).map((mode) => commands[mode](print));
  process.exitCode = results.every(Boolean) ? 0 : 1;
} catch (error) {
  // The rest of Node's message explains escapes; only the first sentence is about the typed arguments.
  const [what = ''] = (error instanceof Error ? error.message : String(error)).split('. To specify');
  process.stderr.write(`${what}\nSee npm run openapi -- --help\n`);
  process.exitCode = 2;
}
