import { ensureUp } from '@millrace/services';
import { seedRandomness } from './src/seeded-random.ts';

// Before the randomness is seeded, because engines generate secrets at their first start.
await ensureUp(['postgres', 'nats'], { portBase: 'auto', note: () => undefined });

seedRandomness('millrace demo');
const { generate, readGenerateArgs } = await import('./src/generate.ts');
await generate(readGenerateArgs(process.argv.slice(2)));
