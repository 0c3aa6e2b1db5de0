/** A test keeps it equal to package.json; reading the file at each start would be slow. */
export const version = '0.1.0';
