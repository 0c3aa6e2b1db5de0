import { parseArgs } from 'node:util';
import { staleFiles, writeGenerated } from './generate.ts';
import { sdkPackage, stagePackage } from './stage.ts';

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

const { values } = parseArgs({
  options: { check: { type: 'boolean', default: false }, stage: { type: 'string' } },
});

if (values.stage !== undefined) {
  await stagePackage(sdkPackage, values.stage);
  print(`${values.stage} is ready: npm publish ${values.stage}`);
} else if (values.check) {
  const stale = staleFiles();
  for (const file of stale)
    print(`${file} differs from the contract. Run npm run sdk and commit the result.`);
  process.exitCode = stale.length === 0 ? 0 : 1;
} else {
  print(`Wrote ${writeGenerated().join(', ')}.`);
}
