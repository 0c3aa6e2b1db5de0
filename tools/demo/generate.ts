import { seedRandomness } from './src/seeded-random.ts';

seedRandomness('millrace demo');
const { generate } = await import('./src/generate.ts');
await generate();
