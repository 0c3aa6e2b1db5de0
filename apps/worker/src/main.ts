import { ConfigError } from '@millrace/platform/config';
import { installSignalHandlers } from '@millrace/platform/lifecycle';
import { startWorker } from './app.ts';
import { loadWorkerConfig } from './config.ts';

/** Exit codes for supervisors: a restart does not help against wrong settings. */
const EXIT_CONFIG = 78;
const EXIT_UNAVAILABLE = 69;

try {
  const { lifecycle, log } = await startWorker(loadWorkerConfig());
  installSignalHandlers(lifecycle, log);
} catch (error) {
  // Written to stderr, because logging needs the settings.
  const settings = error instanceof ConfigError;
  const why = error instanceof Error ? error.message : String(error);
  process.stderr.write(settings ? error.message : `The worker could not start: ${why}\n`);
  process.exitCode = settings ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}
