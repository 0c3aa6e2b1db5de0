export { buildConsole, builtFolder } from './build.ts';
