import { parseModes } from './args.ts';
import { commands } from './commands.ts';

const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

try {
  const results = parseModes(process.argv.slice(2)).map((mode) => commands[mode](say));
  process.exitCode = results.every(Boolean) ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
