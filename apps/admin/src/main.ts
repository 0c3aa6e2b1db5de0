import { runAdmin } from './app.ts';

process.exitCode = await runAdmin(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
