// Written by npm run sdk from the package.json of the repository. Do not edit; a test compares it.

export const version = '0.2.0';
