import { join } from 'node:path';
import { devHelp, DevUsageError, readArgs, type DevOptions } from './src/args.ts';
import { readDemo } from './src/demo-file.ts';

const demoFile = join(import.meta.dirname, '..', '..', '.millrace', 'dev.json');

async function main(words: readonly string[]): Promise<number> {
  const options = readArgs(words, process.env['MILLRACE_HTTP_TLS_CERT_FILE'] !== undefined);
  const requested = options.help ? devHelp : requestedValue(options);
  if (requested !== null) {
    process.stdout.write(requested);
    return 0;
  }
  // Only now, because the product takes a second to load, and scripts ask for a key or an address often.
  const { startDev } = await import('./src/start-dev.ts');
  return startDev(options, demoFile);
}

function requestedValue({ key, url }: DevOptions): string | null {
  if (key === undefined && url === undefined) return null;
  const demo = readDemo(demoFile);
  const found = {
    key: key === 'live' ? demo?.liveKey : demo?.testKey,
    url: url === 'api' ? demo?.apiUrl : demo?.inferenceUrl,
  }[key === undefined ? 'url' : 'key'];
  if (found === undefined) throw new DevUsageError('There is no demo yet. Run npm run dev first.');
  return `${found}\n`;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = error instanceof DevUsageError ? 2 : 1;
}
