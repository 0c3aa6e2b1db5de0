import { TextField } from '../../ui/field.tsx';

/** The longest that the api takes; a longer one would only cost it time. */
const MAX_PASSWORD_LENGTH = 128;

interface PasswordFieldProps {
  readonly label: string;
  readonly name?: string;
  readonly autoFocus?: boolean;
}

/** For a password that there is already. */
export function PasswordField({ name = 'password', ...rest }: PasswordFieldProps) {
  return (
    <TextField
      {...rest}
      name={name}
      type="password"
      autoComplete="current-password"
      required
      maxLength={MAX_PASSWORD_LENGTH}
    />
  );
}

/** For one that is to be: browsers offer to make it, and it has a shortest length. */
export function NewPasswordField({ name = 'password', ...rest }: PasswordFieldProps) {
  return (
    <TextField
      {...rest}
      name={name}
      type="password"
      autoComplete="new-password"
      hint="At least 10 characters. A few words that only you would put together are best."
      required
      minLength={10}
      maxLength={MAX_PASSWORD_LENGTH}
    />
  );
}
