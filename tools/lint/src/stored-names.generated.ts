// Made by npm run check -- --only stored-names --fix.
export const storedNames: ReadonlySet<string> = new Set([
  'lane',
  'strays',
  'terminateAskedAtMs',
  'told',
]);
