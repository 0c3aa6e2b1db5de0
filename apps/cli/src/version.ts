/** Kept equal to package.json by a test: reading the file at every start would cost more than it is worth. */
export const version = '0.1.0';
