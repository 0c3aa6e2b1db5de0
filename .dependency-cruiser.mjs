// Options of dependency-cruiser; the rules are in tools/lint/src/boundaries.ts.
import { boundaries } from './tools/lint/src/boundaries.ts';
import { addUsingSupport } from './tools/lint/src/swc-visitor.ts';

addUsingSupport();

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: boundaries(''),
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    moduleSystems: ['es6'],
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['^tools/lint/fixtures/', '^apps/console/dist'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
    },
    cache: false,
  },
};
