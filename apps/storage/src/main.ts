import { ConfigError } from '@millrace/platform/config';
import { installSignalHandlers } from '@millrace/platform/lifecycle';
import { startStorageAgent } from './app.ts';
import { loadStorageConfig } from './config.ts';

/** Known to supervisors: a restart does not fix invalid settings. */
const EXIT_CONFIG = 78;
const EXIT_UNAVAILABLE = 69;

try {
  const { lifecycle, log } = await startStorageAgent(loadStorageConfig());
  installSignalHandlers(lifecycle, log);
} catch (error) {
  // The logger needs valid settings, so errors before that go to stderr.
  const settings = error instanceof ConfigError;
  const why = error instanceof Error ? error.message : String(error);
  process.stderr.write(settings ? error.message : `The storage agent could not start: ${why}\n`);
  process.exitCode = settings ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}
