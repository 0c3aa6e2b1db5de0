export { createSignIn, passwordHash, type SignIn, type SignInDeps } from './sign-in.ts';
export type { InvitationLinkClaims } from './invitation-link.ts';
export type { EmailOptOuts } from './mail-refusal.ts';
export { resetPassword, setPassword } from './people.store.ts';
export type { OidcProvider, SignInSettings } from './settings.ts';
