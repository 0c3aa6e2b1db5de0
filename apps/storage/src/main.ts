import { ConfigError } from '@millrace/platform/config';
import { installSignalHandlers } from '@millrace/platform/lifecycle';
import { startStorageAgent } from './app.ts';
import { loadStorageConfig } from './config.ts';

/** Exit codes that supervisors know: wrong settings are not cured by starting again. */
const EXIT_CONFIG = 78;
const EXIT_UNAVAILABLE = 69;

try {
  const { lifecycle, log } = await startStorageAgent(loadStorageConfig());
  installSignalHandlers(lifecycle, log);
} catch (error) {
  // Nothing can be logged before the settings are known, and a wrong setting is a message to a person.
  const settings = error instanceof ConfigError;
  const why = error instanceof Error ? error.message : String(error);
  process.stderr.write(settings ? error.message : `The storage agent could not start: ${why}\n`);
  process.exitCode = settings ? EXIT_CONFIG : EXIT_UNAVAILABLE;
}
