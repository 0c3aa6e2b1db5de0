import { stageCli } from './cli-package.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) {
  process.stderr.write('Usage: npm run cli:stage -- FOLDER\n');
  process.exitCode = 2;
} else {
  await stageCli(folder);
  process.stdout.write(`${folder} is ready: npm publish ${folder}\n`);
}
