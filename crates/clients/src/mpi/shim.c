/* What halfpower asks of MPI, with numbers of C alone in its interface: handles and constants of MPI have
   another binary form in each library. A barrier is begun and then asked about, because one that is waited for
   in one call cannot be left when a rank has died. */

#include <mpi.h>
#include <string.h>

static MPI_Request meeting = MPI_REQUEST_NULL;

/* Becomes one of the processes; its number, and how many there are. 0, or what failed; -1 if the library cannot be
   called by more than one thread, one at a time. */
int halfpower_mpi_join(int *number, int *of)
{
    int provided = 0;
    int failed = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (failed != MPI_SUCCESS)
        return failed;
    if (provided < MPI_THREAD_SERIALIZED)
        return -1;
    /* Errors are told and do not end the process. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    failed = MPI_Comm_rank(MPI_COMM_WORLD, number);
    return failed != MPI_SUCCESS ? failed : MPI_Comm_size(MPI_COMM_WORLD, of);
}

/* Writes the name of the library, at most `room` bytes with the zero behind it. */
void halfpower_mpi_library(char *text, int room)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(name, &length);
    strncpy(text, name, (size_t)room - 1);
    text[room - 1] = 0;
}

/* Comes to the barrier. */
int halfpower_mpi_come(void)
{
    return MPI_Ibarrier(MPI_COMM_WORLD, &meeting);
}

/* Whether all have come. */
int halfpower_mpi_all_came(int *all)
{
    return MPI_Test(&meeting, all, MPI_STATUS_IGNORE);
}

/* Leaves MPI; all others must do so too. */
int halfpower_mpi_leave(void)
{
    return MPI_Finalize();
}
