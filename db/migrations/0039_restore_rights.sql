-- A confirmed restore raises the floor of epochs.

grant update (epoch_floor) on pot_servers to millrace_app;
