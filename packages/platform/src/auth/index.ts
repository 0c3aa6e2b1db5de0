export { createSignIn, passwordHash, type SignIn, type SignInDeps } from './sign-in.ts';
export { resetPassword, setPassword } from './people.store.ts';
export { DEVICE_CLIENT_ID, type OidcProvider, type SignInSettings } from './options.ts';
